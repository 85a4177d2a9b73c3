# Everything, from settings to figures, tables, claims and report:  snakemake
include: "workflow/Snakefile"
