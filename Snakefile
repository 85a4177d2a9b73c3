# One command, from settings to figures, tables, claims and report:  snakemake
# What can be asked for: README.md, section "What to type".

include: "workflow/rules/common.smk"


rule all:
    input:
        report_file(PRESET),
        [study_targets(study, PRESET) for study in STUDIES],
    default_target: True


include: "workflow/rules/study.smk"
include: "workflow/rules/figures.smk"
include: "workflow/rules/claims.smk"
include: "workflow/rules/report.smk"
include: "workflow/rules/sweep.smk"
