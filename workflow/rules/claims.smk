# Published claims compared with measured values.


rule claims:
    input:
        claims_of_tables,
    localrule: True


# One claim by itself, in the cases that it needs alone:  snakemake claim --config id=PM-G12 preset=quick


rule claim:
    input:
        lambda w: files_of_claim(),
    log:
        f"logs/{PRESET}/claim.log",
    localrule: True
    conda:
        "../envs/auxmc.yaml"
    params:
        pipeline=pipeline,
        id=lambda w: typed("id"),
    shell:
        "{params.pipeline}.steps.claim {params.id:q} {input:q} 2>&1 | tee {log:q}"


rule judge_claims:
    input:
        tables=lambda w: tables_of(w.study, w.preset),
    output:
        claims=report(
            "results/{preset}/{study}/claims.csv",
            caption="../report/claims.rst",
            category="{study}",
            labels={"figure": "claims", "preset": "{preset}"},
        ),
        numbers="results/{preset}/{study}/numbers.csv",
    log:
        "logs/{preset}/{study}/claims.log",
    benchmark:
        "logs/{preset}/{study}/claims.benchmark.tsv"
    localrule: True
    conda:
        "../envs/auxmc.yaml"
    params:
        pipeline=pipeline,
        code=lambda w: load_study(w.study).code("claims"),
        judge=lambda w: code_of("auxmc_pipeline.steps.judge"),
        numbers=lambda w: numbers_of_cases(w.study, w.preset),
        lines=lambda w: check_lines_of(w.study),
        published=lambda w: content_of(f"experiments/{load_study(w.study).folder}/claims.csv"),
    shell:
        "{params.pipeline}.steps.judge {wildcards.study} {wildcards.preset}"
        " --tables {input.tables:q} --out {output.claims:q} > {log:q} 2>&1 || (cat {log:q} >&2; false)"
