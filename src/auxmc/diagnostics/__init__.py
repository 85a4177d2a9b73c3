"""Errors, convergence and evidence from what samplers return."""

from auxmc.numerics.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "auxmc.diagnostics.coda": (
            "effective_sample_size multivariate_scale_reduction potential_scale_reduction "
            "potential_scale_reduction_path scale_reduction_of_moments"
        ),
        "auxmc.diagnostics.convergence": (
            "bulk_ess mcse_mean mcse_sd r_hat_limit rank_r_hat summarise_chains tail_ess"
        ),
        "auxmc.diagnostics.dead_points": "nested_evidence",
        "auxmc.diagnostics.errors_of_means": (
            "autocorrelation_time autocorrelations error_between_chains replicated_evidence_error variance_of_mean"
        ),
        "auxmc.diagnostics.finite_chains": (
            "detailed_balance_residual invariance_residual second_eigenvalue stationary_distribution transition_matrix"
        ),
        "auxmc.diagnostics.nested_errors": "simulated_log_evidences simulated_nested_evidence",
        "auxmc.diagnostics.path_integrals": "thermodynamic_integration",
        "auxmc.diagnostics.runs": "longest_constant_run longest_rejection_run n_distinct_states",
        "auxmc.diagnostics.sequential_intervals": "confidence_sequence",
        "auxmc.diagnostics.simple_evidence": "harmonic_mean prior_average",
        "auxmc.diagnostics.stream_changes": "DropDetector change_points chunk_scores",
        "auxmc.diagnostics.tempered_evidence": (
            "annealed_evidence bidirectional_bounds bridge_evidence log_evidence log_evidence_error "
            "running_log_evidence weighted_moments"
        ),
        "auxmc.diagnostics.weighted": "weighted_estimates",
    },
)
