"""Errors, convergence and evidence from what samplers return."""

from auxmc.numerics.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    """
    diagnostics.coda effective_sample_size multivariate_scale_reduction potential_scale_reduction
    diagnostics.coda potential_scale_reduction_path scale_reduction_of_moments
    diagnostics.convergence bulk_ess mcse_mean mcse_sd r_hat_limit rank_r_hat summarise_chains tail_ess
    diagnostics.dead_points nested_evidence
    diagnostics.errors_of_means autocorrelation_time autocorrelations error_between_chains
    diagnostics.errors_of_means replicated_evidence_error variance_of_mean
    diagnostics.finite_chains detailed_balance_residual invariance_residual second_eigenvalue
    diagnostics.finite_chains stationary_distribution transition_matrix
    diagnostics.nested_errors simulated_log_evidences simulated_nested_evidence
    diagnostics.path_integrals thermodynamic_integration
    diagnostics.runs longest_constant_run longest_rejection_run n_distinct_states
    diagnostics.sequential_intervals confidence_sequence
    diagnostics.simple_evidence harmonic_mean prior_average
    diagnostics.stream_changes DropDetector change_points chunk_scores
    diagnostics.tempered_evidence annealed_evidence bidirectional_bounds bridge_evidence log_evidence
    diagnostics.tempered_evidence importance_tempering log_evidence_error running_log_evidence weighted_moments
    diagnostics.weighted weighted_estimates
    """,
)
