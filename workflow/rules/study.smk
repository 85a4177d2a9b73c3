# Cases, the pieces of long ones, and the tables made from them. One rule per study gives the study's name as a target.


rule run_piece:
    output:
        temp("results/{preset}/{study}/{set}pieces/{case}/{piece}-of-{n_pieces}.npz"),
    log:
        "logs/{preset}/{study}/{set}pieces/{case}/{piece}-of-{n_pieces}.log",
    benchmark:
        "logs/{preset}/{study}/{set}pieces/{case}/{piece}-of-{n_pieces}.benchmark.tsv"
    retries: 1
    conda:
        "../envs/auxmc.yaml"
    threads: 1
    resources:
        mem_mb=resource_of("mem_mb", 2000),
        runtime=resource_of("runtime", 60),
        gpu=resource_of("gpu", 0),
    params:
        overrides=overrides_of_case,
        identity=identity_of_case,
        python=PYTHON,
        modules=MODULES,
    shell:
        "PYTHONPATH={params.modules} NPROC={threads} {params.python} -m auxmc_pipeline.steps.run study={wildcards.study}"
        " {params.overrides:q} out={output} --piece {wildcards.piece}/{wildcards.n_pieces} 2>&1 | tee {log} >&2"


rule run_case:
    input:
        pieces_of_case,
    output:
        "results/{preset}/{study}/{set}{case}.nc",
    log:
        "logs/{preset}/{study}/{set}{case}.log",
    benchmark:
        "logs/{preset}/{study}/{set}{case}.benchmark.tsv"
    retries: 1
    conda:
        "../envs/auxmc.yaml"
    threads: 1
    resources:
        mem_mb=resource_of("mem_mb", 2000),
        runtime=resource_of("runtime", 60),
        gpu=resource_of("gpu", 0),
    params:
        overrides=overrides_of_case,
        identity=identity_of_case,
        merge=lambda w, input: ["--merge", *input] if input else [],
        python=PYTHON,
        modules=MODULES,
    shell:
        "PYTHONPATH={params.modules} NPROC={threads} {params.python} -m auxmc_pipeline.steps.run study={wildcards.study}"
        " {params.overrides:q} out={output} {params.merge:q} 2>&1 | tee {log} >&2"


rule summarise:
    input:
        lambda w: case_files(w.study, w.preset),
    output:
        summary="results/{preset}/{study}/summary.parquet",
        curves="results/{preset}/{study}/curves.parquet",
    log:
        "logs/{preset}/{study}/summarise.log",
    benchmark:
        "logs/{preset}/{study}/summarise.benchmark.tsv"
    localrule: True
    conda:
        "../envs/auxmc.yaml"
    params:
        code=code_of("auxmc_pipeline.steps.summarise"),
        python=PYTHON,
        modules=MODULES,
    shell:
        "PYTHONPATH={params.modules} {params.python} -m auxmc_pipeline.steps.summarise --summary {output.summary}"
        " --curves {output.curves} {input} > {log} 2>&1"


for _study in STUDIES:

    rule:
        name:
            _study
        input:
            study_targets(_study, PRESET),
        localrule: True
