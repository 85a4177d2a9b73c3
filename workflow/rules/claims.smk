# Published claims beside measured values.


rule claims:
    input:
        [claims_file(study, PRESET) for study in STUDIES],
    localrule: True


rule judge_claims:
    input:
        tables=lambda w: tables_of(w.study, w.preset),
        claims=lambda w: ancient(f"{ROOT}/experiments/{w.study}/claims.csv"),
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
        code=lambda w: load_study(w.study).code("claims"),
        judge=code_of("auxmc_pipeline.steps.judge"),
        numbers=lambda w: numbers_of_cases(w.study, w.preset),
        published=lambda w: content_of(f"experiments/{w.study}/claims.csv"),
        python=PYTHON,
        modules=MODULES,
    shell:
        "PYTHONPATH={params.modules} {params.python} -m auxmc_pipeline.steps.judge {wildcards.study} {wildcards.preset}"
        " --tables {input.tables} --out {output.claims} > {log} 2>&1"
