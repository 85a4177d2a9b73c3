# A user's own sweep:  snakemake sweep --config study=gp_probit name=mine over="n_importance=1,10 method=pm_mh"

SWEEP_FILES = ("summary.parquet", "summary.csv", "curves.parquet", "sweep.pdf", "sweep.png")


rule sweep:
    input:
        lambda w: [
            *case_files(typed("study"), PRESET, typed("name")),
            *(f"{sweep_folder()}/{file}" for file in SWEEP_FILES),
        ],
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
        pipeline=pipeline,
        code=lambda w: code_of("auxmc_pipeline.steps.sweep"),
        axes=checked(
            lambda w: list(
                dict.fromkeys(a for c in cases_of(w.study, w.preset, w.name).values() for a in c.axes)
            )
        ),
    shell:
        "{params.pipeline}.steps.sweep {wildcards.study} --axes {params.axes}"
        " --summary {output.summary:q} --curves {output.curves:q} --figure {output.png:q} --files {input:q}"
        " > {log:q} 2>&1 || (cat {log:q} >&2; false)"
