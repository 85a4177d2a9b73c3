"""What synthetic results say of the job that made them."""

PROVENANCE = {
    "study": "radon",
    "numbers": "0123456789abcdef",
    "code": "fedcba9876543210",
    "data": "",
    "seed": 1,
    "created": "2026-11-21T22:04:55+00:00",
    "git_commit": "d" * 40,
    "python": "3.11.7",
    "packages": {"jax": "0.10.2"},
    "processor": "A processor",
    "n_cores": 2,
    "wall_s": 13.2,
    "cpu_s": 12.8,
    "peak_memory_mib": 809.0,
}
