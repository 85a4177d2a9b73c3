# Everything, from settings to figures, tables, claims and report:  snakemake
include: "workflow/Snakefile", overwrite_default_target=True
