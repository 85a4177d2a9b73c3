# One self-contained page with every figure, table and claim, and the tables that a paper can take.

# Texts of the report: templates, main findings, README of each study.
REPORT_TEXTS = [
    *sorted(Path(f"{ROOT}/workflow/report").glob("report.*")),
    *sorted(Path(f"{ROOT}/workflow/report").glob("*.html.j2")),
    Path(f"{ROOT}/workflow/report/front.toml"),
    Path(f"{ROOT}/docs/findings.md"),
    *(Path(f"{ROOT}/experiments/{load_study(study).folder}/README.md") for study in STUDIES),
]

PAPER_TABLES = [
    f"results/{{preset}}/tables{OF_VARIANT}/{name}.{suffix}"
    for name in (*STUDIES, "verdicts")
    for suffix in ("csv", "tex")
]


rule report:
    input:
        report_file(PRESET),
        expand(PAPER_TABLES, preset=PRESET),  # the page links to them
    localrule: True


rule tables:
    input:
        expand(PAPER_TABLES, preset=PRESET),
    localrule: True


rule write_tables:
    input:
        claims=[claims_files(study, "{preset}")[0] for study in STUDIES],
    output:
        PAPER_TABLES,
    log:
        "logs/{preset}/tables.log",
    localrule: True
    conda:
        "../envs/auxmc.yaml"
    params:
        pipeline=pipeline,
        studies=STUDIES,
        folder=lambda w, output: Path(output[0]).parent,
        code=lambda w: code_of("auxmc_pipeline.steps.export_tables"),
        documents=lambda w: content_of("workflow/report/front.toml"),
    shell:
        "{params.pipeline}.steps.export_tables {wildcards.preset}"
        " --studies {params.studies} --out {params.folder:q} > {log:q} 2>&1 || (cat {log:q} >&2; false)"


rule write_report:
    input:
        claims=[claims_files(study, "{preset}") for study in STUDIES],
        figures=lambda w: [f for s in STUDIES for f in figure_files(s, w.preset) if f.endswith(".svg")],
        summaries=lambda w: [tables_of(study, w.preset) for study in STUDIES],
    output:
        report_file("{preset}"),
    log:
        "logs/{preset}/report.log",
    localrule: True
    conda:
        "../envs/auxmc.yaml"
    params:
        pipeline=pipeline,
        studies=STUDIES,
        code=lambda w: code_of("auxmc_pipeline.report.__main__"),
        texts=lambda w: content_of(*REPORT_TEXTS),
    shell:
        "{params.pipeline}.report {wildcards.preset}"
        " --studies {params.studies} --out {output:q} > {log:q} 2>&1 || (cat {log:q} >&2; false)"
