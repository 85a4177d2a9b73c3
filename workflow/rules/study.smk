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
        pipeline=pipeline,
        overrides=overrides_of_case,
        identity=identity_of_case,
    shell:
        "NPROC={threads} {params.pipeline}.steps.run study={wildcards.study}"
        " {params.overrides:q} out={output:q} --piece {wildcards.piece}/{wildcards.n_pieces} 2>&1 | tee {log:q} >&2"


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
        pipeline=pipeline,
        overrides=overrides_of_case,
        identity=identity_of_case,
        merge=lambda w, input: ["--merge", *input] if input else [],
    shell:
        "NPROC={threads} {params.pipeline}.steps.run study={wildcards.study}"
        " {params.overrides:q} out={output:q} {params.merge:q} 2>&1 | tee {log:q} >&2"


rule tabulate:
    input:
        lambda w: case_files(w.study, w.preset),
    output:
        directory("results/{preset}/{study}/tables"),
    log:
        "logs/{preset}/{study}/tabulate.log",
    localrule: True
    conda:
        "../envs/auxmc.yaml"
    params:
        pipeline=pipeline,
        code=lambda w: code_of("auxmc_pipeline.steps.summarise"),
        missing=missing_tables,
    shell:
        "{params.pipeline}.steps.summarise --folder {output:q} {input:q} > {log:q} 2>&1 || (cat {log:q} >&2; false)"


for _study in STUDIES:

    rule:
        name:
            load_study(_study).folder
        input:
            lambda w, study=_study: study_targets(study, PRESET),
        localrule: True
