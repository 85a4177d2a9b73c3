# Figures from tables: no sampler runs here. One process draws all figures of a study, which takes seconds;
# one a figure would spend most of its time on imports.


rule figures:
    input:
        [figure_files(study, PRESET) for study in STUDIES],
    localrule: True


for _study in STUDIES:

    rule:
        name:
            f"draw_{load_study(_study).folder}"
        input:
            tables=tables_of(_study, "{preset}"),
        output:
            [
                report(
                    file,
                    caption="../report/figure.rst",
                    category=_study,
                    labels={"figure": Path(file).stem, "preset": "{preset}"},
                )
                if file.endswith(".svg")
                else file
                for file in figure_files(_study, "{preset}")
            ],
        log:
            f"logs/{{preset}}/{_study}/figures.log",
        benchmark:
            f"logs/{{preset}}/{_study}/figures.benchmark.tsv"
        localrule: True
        conda:
            "../envs/auxmc.yaml"
        params:
            pipeline=pipeline,
            study=_study,
            formats=FORMATS,
            folder=lambda w, output: str(Path(output[0]).parent),
            code=lambda w, study=_study: load_study(study).code("figures"),
            captions=load_study(_study).figures,
            # What a figure draws of its document: values, and what the document is called.
            published=lambda w, folder=load_study(_study).folder: content_of(
                f"experiments/{folder}/claims.csv",
                f"experiments/{folder}/published_figures.csv",
                "workflow/report/front.toml",
            ),
            numbers=lambda w, study=_study: numbers_of_cases(study, w.preset),
        shell:
            "{params.pipeline}.steps.draw {params.study} {wildcards.preset}"
            " --tables {input.tables:q} --out {params.folder:q} --formats {params.formats} > {log:q} 2>&1 || (cat {log:q} >&2; false)"
