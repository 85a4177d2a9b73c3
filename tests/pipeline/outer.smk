module auxmc:
    snakefile: "{root}/workflow/Snakefile"
    {prefix}
    config: {{"preset": "smoke", "study": "radon", "name": "mine", "over": "n_chains=2,3"}}


use rule * from auxmc as auxmc_*


rule own:
    default_target: True
    input:
        "{folder}results/smoke/radon/sweeps/mine/summary.csv",
        rules.auxmc_radon.input,
    output:
        "own.txt",
    shell:
        "cat {{input[0]}} > {{output}}"
