# Figures from tables: no sampler runs here.


rule figures:
    input:
        [figure_files(study, PRESET) for study in STUDIES],
    localrule: True


rule draw_figure:
    input:
        tables=lambda w: tables_of(w.study, w.preset),
    output:
        pdf="paper_figures/{preset}/{study}/{figure}.pdf",
        png=report(
            "paper_figures/{preset}/{study}/{figure}.png",
            caption="../report/figure.rst",
            category="{study}",
            labels={"figure": "{figure}", "preset": "{preset}"},
        ),
    log:
        "logs/{preset}/{study}/figures/{figure}.log",
    params:
        code=lambda w: code_of(f"experiments.{w.study}.figures"),
        numbers=lambda w: numbers_of_cases(w.study, w.preset),
        caption=lambda w: load_study(w.study).figures.get(w.figure, ""),
        python=PYTHON,
        modules=MODULES,
    conda:
        "../envs/auxmc.yaml"
    localrule: True
    shell:
        "PYTHONPATH={params.modules} {params.python} -m experiments.draw {wildcards.study} {wildcards.preset}"
        " {wildcards.figure} --tables {input.tables} --out {output.png} > {log} 2>&1"
