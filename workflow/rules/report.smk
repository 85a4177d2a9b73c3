# One self-contained page with every figure, table and claim.


rule report:
    input:
        report_file(PRESET),
    localrule: True


rule write_report:
    input:
        claims=lambda w: [claims_file(study, w.preset) for study in STUDIES],
        figures=lambda w: [f for s in STUDIES for f in figure_files(s, w.preset) if f.endswith(".png")],
        summaries=lambda w: [tables_of(study, w.preset)[0] for study in STUDIES],
    output:
        "results/{preset}/report.html",
    log:
        "logs/{preset}/report.log",
    params:
        code=code_of("experiments.report"),
        template=fingerprint(Path(f"{workflow.basedir}/workflow/report/report.html.j2").read_text()),
        python=PYTHON,
        modules=MODULES,
    conda:
        "../envs/auxmc.yaml"
    localrule: True
    shell:
        "PYTHONPATH={params.modules} {params.python} -m experiments.report {wildcards.preset}"
        " --out {output} > {log} 2>&1"
