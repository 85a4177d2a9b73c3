# A user's own sweep:  snakemake sweep --config study=gp_probit name=mine over="n_importance=1,10 method=pm_mh"


rule sweep:
    input:
        lambda w: [f"{sweep_folder()}/{file}" for file in ("summary.csv", "sweep.pdf", "sweep.png")],
    localrule: True


rule summarise_sweep:
    input:
        lambda w: case_files(w.study, w.preset, w.name),
    output:
        summary="results/{preset}/{study}/sweeps/{name}/summary.parquet",
        csv="results/{preset}/{study}/sweeps/{name}/summary.csv",
        curves="results/{preset}/{study}/sweeps/{name}/curves.parquet",
        pdf="results/{preset}/{study}/sweeps/{name}/sweep.pdf",
        png="results/{preset}/{study}/sweeps/{name}/sweep.png",
    log:
        "logs/{preset}/{study}/sweeps/{name}/summarise.log",
    localrule: True
    conda:
        "../envs/auxmc.yaml"
    params:
        code=code_of("auxmc_pipeline.steps.sweep"),
        axes=checked(
            lambda w: list(
                dict.fromkeys(a for c in cases_of(w.study, w.preset, w.name).values() for a in c.axes)
            )
        ),
        python=PYTHON,
        modules=MODULES,
    shell:
        "PYTHONPATH={params.modules} {params.python} -m auxmc_pipeline.steps.sweep {wildcards.study} --axes {params.axes}"
        " --summary {output.summary} --curves {output.curves} --figure {output.png} --files {input}"
        " > {log} 2>&1"
