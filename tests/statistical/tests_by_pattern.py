"""Tests that say by their place, not by a mark, which layer of which component they test.

A pattern is a file, then a pattern of function names as in a shell, then perhaps one of parameters in brackets.
"""

__all__ = ["PATTERNS"]

_INVARIANCE = "statistical/test_kernel_invariance.py::"
_CONSTRAINED = "statistical/test_constrained_invariance.py::"
_INPUT_SPACE = "statistical/test_input_space_kernels.py::"
_TEMPERING = "statistical/test_tempering.py::"
_ABC = "statistical/test_abc_posteriors.py::"
_EVERY = "unit/kernels/test_every_kernel.py::test_*"
_LINE = _INVARIANCE + "test_kernel_on_the_line_is_invariant_and_reversible"

PATTERNS: dict[tuple[str, str], tuple[str, ...]] = {
    # Metropolis
    ("metropolis", "L1"): (
        "unit/kernels/metropolis/test_metropolis.py::test_acceptance_is_one_when_the_density_is_constant",
        "unit/kernels/metropolis/test_metropolis.py::test_proposal_is_the_scaled_normal_draw",
        "unit/kernels/metropolis/test_metropolis.py::test_independence_proposals_from_the_target_are_always_accepted",
        _EVERY + "[random_walk]",
        _EVERY + "[independence]",
    ),
    ("metropolis", "L4"): (_INVARIANCE + "test_metropolis_random_numbers_*",),
    ("metropolis", "L5"): (_LINE + "[random_walk-*]", _LINE + "[independence-*]"),
    ("metropolis", "L6"): (_LINE + "[random_walk-*]", _LINE + "[independence-*]"),
    ("metropolis", "L7"): (_INVARIANCE + "test_joint_law_of_parameter_and_data_is_unchanged[random_walk]",),
    ("metropolis", "L15"): (
        "unit/kernels/metropolis/test_metropolis.py::test_a_proposal_without_finite_density_is_rejected",
        "unit/kernels/metropolis/test_metropolis.py::test_a_start_outside_the_support_is_left_at_once",
        "unit/kernels/metropolis/test_metropolis.py::test_an_impossible_dimension_is_refused",
    ),
    # Slices
    ("slice", "L1"): (
        "unit/kernels/slices/test_slices.py::test_current_point_stays_*",
        "unit/kernels/slices/test_slices.py::test_every_shrink_*",
        "unit/kernels/slices/test_slices.py::test_evaluations_reported_*",
        "unit/kernels/slices/test_slices.py::test_step_outs_*",
        "unit/kernels/slices/test_slices.py::test_the_ellipse_turns_*",
        "unit/kernels/slices/test_slices.py::test_reflection_*",
        "unit/kernels/slices/test_blocked_elliptical_slice.py::test_blocks_are_updated_*",
        _EVERY + "[elliptical]",
        _EVERY + "[linear*]",
        _EVERY + "[reflective]",
    ),
    ("slice", "L4"): (
        _INVARIANCE + "test_slice_structure_and_height",
        _INVARIANCE + "test_*_bracket_has_its_law",
        _INVARIANCE + "test_directions_are_uniform_on_the_sphere",
    ),
    ("slice", "L5"): (
        _LINE + "[elliptical-*]",
        _LINE + "[linear*]",
        _INVARIANCE + "test_reflective_slice_*",
        _ABC + "test_blocked_elliptical_slices_*",
    ),
    ("slice", "L6"): (
        _LINE + "[elliptical-*]",
        _LINE + "[linear*]",
        _INVARIANCE + "test_reflective_slice_*",
    ),
    ("slice", "L7"): (
        _INVARIANCE + "test_joint_law_of_parameter_and_data_is_unchanged[elliptical]",
        _INVARIANCE + "test_joint_law_of_parameter_and_data_is_unchanged[linear]",
    ),
    ("slice", "L15"): (
        "unit/kernels/slices/test_slices.py::test_a_target_that_refuses_everything_*",
        "unit/kernels/slices/test_slices.py::test_points_without_finite_density_*",
        "unit/kernels/slices/test_slices.py::test_the_loop_gives_up_*",
        "unit/kernels/slices/test_slices.py::test_the_cap_is_respected_*",
        "unit/kernels/slices/test_slices.py::test_impossible_arguments_are_refused",
    ),
    # Hamiltonian Monte Carlo
    ("hmc", "L1"): (
        "unit/kernels/hamiltonian/test_hmc.py::test_info_tells_what_happened",
        "unit/kernels/hamiltonian/test_hmc.py::test_numbers_of_steps_are_drawn_from_the_inclusive_range",
    ),
    ("hmc", "L3"): (
        "unit/kernels/hamiltonian/test_hmc.py::test_leapfrog_on_a_harmonic_oscillator_*",
        "unit/kernels/hamiltonian/test_hmc.py::test_a_trajectory_leads_back_*",
        "unit/kernels/hamiltonian/test_hmc.py::test_the_energy_error_is_of_second_order_*",
        "unit/kernels/hamiltonian/test_hmc.py::test_an_integrator_step_keeps_volume",
    ),
    ("hmc", "L5"): (_INPUT_SPACE + "test_hmc_keeps_the_law_and_is_reversible",),
    ("hmc", "L6"): (_INPUT_SPACE + "test_hmc_keeps_the_law_and_is_reversible",),
    ("hmc", "L15"): (
        "unit/kernels/hamiltonian/test_hmc.py::test_a_trajectory_that_overflows_*",
        "unit/kernels/hamiltonian/test_hmc.py::test_an_end_of_density_zero_*",
        "unit/kernels/hamiltonian/test_hmc.py::test_wrong_arguments_are_refused",
    ),
    # Pseudo-marginal methods
    ("pseudo_marginal", "L1"): (
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_pm_mh_is_*",
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_without_noise_*",
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_an_update_of_*",
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_every_preparation_is_counted_*",
        _EVERY + "[apm_*]",
        _EVERY + "[pm_*]",
    ),
    ("pseudo_marginal", "L4"): (_INVARIANCE + "test_metropolis_random_numbers_*",),
    ("pseudo_marginal", "L5"): (_INVARIANCE + "test_method_leaves_the_joint_law_invariant",),
    ("pseudo_marginal", "L6"): (
        _INVARIANCE + "test_method_leaves_the_joint_law_invariant[*pm_mh*]",
        _INVARIANCE + "test_single_update_is_reversible",
    ),
    ("pseudo_marginal", "L7"): (_INVARIANCE + "test_joint_law_is_unchanged_with_an_estimated_likelihood",),
    ("pseudo_marginal", "L10"): (
        "unit/models/regression/test_gp_probit.py::test_estimator_is_unbiased",
        "unit/models/regression/test_gp_probit.py::test_many_samples_estimate_the_mean_of_single_ones",
    ),
    ("pseudo_marginal", "L15"): (
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_estimates_that_are_not_finite_*",
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_an_estimator_that_refuses_everything_*",
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_init_*",
        "unit/kernels/pseudo_marginal/test_pseudo_marginal.py::test_an_unknown_method_*",
    ),
    # Constrained Hamiltonian Monte Carlo
    ("constrained_hmc", "L1"): (
        "unit/kernels/manifold/test_constrained_hmc.py::test_trajectories_stay_on_the_manifold_*",
        "unit/kernels/manifold/test_constrained_hmc.py::test_every_solver_finds_a_point_*",
    ),
    ("constrained_hmc", "L3"): (
        "unit/kernels/manifold/test_constrained_hmc.py::test_trajectories_stay_on_the_manifold_*",
        "unit/kernels/manifold/test_constrained_hmc.py::test_energy_error_is_of_second_order_*",
        "unit/kernels/manifold/test_constrained_hmc.py::test_a_step_preserves_the_symplectic_form_*",
        "unit/kernels/manifold/test_constrained_hmc.py::test_free_motion_on_the_sphere_*",
    ),
    ("constrained_hmc", "L5"): (
        _CONSTRAINED + "test_the_law_on_a_branch_*",
        _CONSTRAINED + "test_the_area_of_the_torus_*",
        _CONSTRAINED + "test_trajectories_that_end_by_themselves_*",
    ),
    ("constrained_hmc", "L6"): (
        _CONSTRAINED + "test_the_law_on_a_branch_*",
        _CONSTRAINED + "test_the_area_of_the_torus_*",
    ),
    ("constrained_hmc", "L15"): (
        "unit/kernels/manifold/test_constrained_hmc.py::test_failures_are_counted_*",
        "unit/kernels/manifold/test_constrained_hmc.py::test_irreversible_sub_steps_are_noticed",
        "unit/kernels/manifold/test_constrained_hmc.py::test_a_singular_gram_matrix_*",
        "unit/kernels/manifold/test_constrained_hmc.py::test_wrong_settings_are_refused",
    ),
    # Tempering
    ("tempering", "L1"): (
        "unit/numerics/test_truncated_exponential.py::test_weights_satisfy_their_identities",
        "unit/numerics/test_truncated_exponential.py::test_weights_are_finite_*",
        "unit/numerics/test_truncated_exponential.py::test_draws_are_finite_*",
        "unit/kernels/tempering/test_simulated_tempering.py::test_states_carry_*",
        "unit/kernels/tempering/test_continuous_tempering.py::test_states_carry_*",
        "unit/kernels/tempering/test_tempered_nuts.py::test_states_carry_*",
    ),
    ("tempering", "L2"): (
        "unit/kernels/tempering/test_simulated_tempering.py::test_the_random_walk_is_reversible",
        "unit/kernels/tempering/test_simulated_tempering.py::test_*_draws_have_the_probabilities_*",
    ),
    ("tempering", "L3"): (
        "unit/kernels/tempering/test_continuous_tempering.py::test_trajectories_*",
        "unit/kernels/tempering/test_continuous_tempering.py::test_the_energy_error_*",
        "unit/kernels/tempering/test_continuous_tempering.py::test_a_step_on_a_harmonic_energy_*",
    ),
    ("tempering", "L4"): (_TEMPERING + "test_inverse_temperature_has_its_truncated_exponential_law",),
    ("tempering", "L5"): (
        _TEMPERING + "test_joint_law_of_position_and_temperature_is_invariant",
        "statistical/test_nuts_invariance.py::test_a_step_leaves_the_joint_law_invariant",
    ),
    ("tempering", "L9"): (
        "unit/kernels/tempering/test_simulated_tempering.py::test_integrating_the_index_out_*",
    ),
    ("tempering", "L10"): (
        "unit/kernels/tempering/test_simulated_tempering.py::test_integrating_the_index_out_*",
        "unit/diagnostics/test_log_evidence.py::test_*",
    ),
    ("tempering", "L14"): (
        "unit/kernels/tempering/test_continuous_tempering.py::test_single_precision_stays_single",
        "unit/numerics/test_truncated_exponential.py::test_*_are_finite*",
    ),
    ("tempering", "L15"): (
        "unit/kernels/tempering/test_continuous_tempering.py::test_a_trajectory_that_overflows_*",
        "unit/kernels/tempering/test_continuous_tempering.py::test_a_far_control_stays_finite",
        "unit/kernels/tempering/test_continuous_tempering.py::test_wrong_arguments_are_refused",
        "unit/kernels/tempering/test_simulated_tempering.py::test_wrong_arguments_are_refused",
        "unit/kernels/tempering/test_tempered_nuts.py::test_a_step_that_is_far_too_long_*",
    ),
    # Annealed importance sampling
    ("annealed_importance", "L1"): (
        "unit/kernels/tempering/test_annealed_importance.py::test_one_interval_*",
        "unit/kernels/tempering/test_annealed_importance.py::test_two_intervals_*",
        "unit/kernels/tempering/test_annealed_importance.py::test_every_length_*",
        "unit/kernels/tempering/test_annealed_importance.py::test_the_reversed_ladder_*",
        "unit/kernels/tempering/test_annealed_importance.py::test_a_constant_in_the_target_*",
    ),
    ("annealed_importance", "L9"): (
        "unit/kernels/streams/test_full_data_evidence.py::test_published_settings_*",
        "unit/kernels/streams/test_full_data_evidence.py::test_hamiltonian_moves_*",
    ),
    ("annealed_importance", "L10"): (
        _TEMPERING + "test_annealed_weights_are_unbiased",
        _TEMPERING + "test_reverse_annealed_weights_*",
        "unit/diagnostics/test_log_evidence.py::test_annealed_evidence_and_its_error",
        "unit/diagnostics/test_log_evidence.py::test_bounds_of_constant_weights_*",
    ),
    ("annealed_importance", "L11"): (
        "unit/kernels/streams/test_full_data_evidence.py::test_the_path_keeps_the_effective_size_*",
        "unit/numerics/test_annealing.py::test_increments_keep_the_size_*",
    ),
    ("annealed_importance", "L14"): (
        "unit/kernels/streams/test_full_data_evidence.py::test_single_precision_rows_*",
    ),
    ("annealed_importance", "L15"): (
        "unit/kernels/tempering/test_annealed_importance.py::test_failed_trajectories_are_counted",
        "unit/kernels/tempering/test_annealed_importance.py::test_wrong_schedules_are_refused",
        "unit/kernels/streams/test_full_data_evidence.py::test_particles_without_a_likelihood_*",
        "unit/kernels/streams/test_full_data_evidence.py::test_settings_outside_their_range_*",
    ),
    # Sequential Monte Carlo on streams
    ("sequential_monte_carlo", "L1"): (
        "unit/numerics/test_annealing.py::test_effective_size_falls_*",
        "unit/kernels/streams/test_data_tempering.py::test_chunks_cover_all_rows_once",
        "unit/kernels/streams/test_streaming.py::test_rows_that_only_fill_up_*",
    ),
    ("sequential_monte_carlo", "L9"): (
        "unit/kernels/streams/test_data_tempering.py::test_the_evidence_of_every_prefix_is_met",
        "unit/kernels/streams/test_data_tempering.py::test_particles_follow_the_posterior",
    ),
    ("sequential_monte_carlo", "L14"): (
        "unit/kernels/streams/test_data_tempering.py::test_particles_may_rest_*",
    ),
    ("sequential_monte_carlo", "L15"): (
        "unit/kernels/streams/test_streaming.py::test_lost_particles_are_counted_*",
        "unit/kernels/streams/test_streaming.py::test_settings_outside_their_range_*",
        "unit/kernels/streams/test_data_tempering.py::test_settings_outside_their_range_*",
    ),
    # Nested sampling
    ("nested_sampling", "L1"): (
        "unit/kernels/streams/test_nested_sampling.py::test_dead_points_die_in_order_*",
        "unit/diagnostics/test_nested_evidence.py::test_*",
    ),
    ("nested_sampling", "L9"): (
        "unit/kernels/streams/test_nested_sampling.py::test_posterior_moments_come_with_the_evidence",
        "unit/kernels/streams/test_nested_updating.py::test_live_points_follow_the_posterior",
    ),
    ("nested_sampling", "L10"): (
        "unit/kernels/streams/test_nested_sampling.py::test_the_evidence_of_a_linear_model_is_met",
        "unit/kernels/streams/test_nested_updating.py::test_the_evidence_of_every_prefix_is_met",
    ),
    ("nested_sampling", "L11"): (
        "unit/diagnostics/test_nested_evidence.py::test_the_three_sums_*",
        "unit/kernels/streams/test_nested_sampling.py::test_moves_without_an_accept_step_*",
        "unit/kernels/streams/test_nested_sampling.py::test_the_published_rule_stops_too_early_*",
    ),
    ("nested_sampling", "L15"): (
        "unit/kernels/streams/test_nested_sampling.py::test_a_run_that_does_not_finish_*",
        "unit/kernels/streams/test_nested_sampling.py::test_settings_outside_their_range_*",
        "unit/diagnostics/test_nested_evidence.py::test_what_cannot_be_summed_is_refused",
    ),
    # Stochastic gradients
    ("stochastic_gradient", "L1"): (
        "unit/kernels/streams/test_stochastic_gradient_chain.py::test_a_step_is_that_of_the_dynamics_*",
        "unit/kernels/streams/test_stochastic_gradient_chain.py::test_with_friction_one_*",
        "unit/kernels/streams/test_stochastic_gradient_chain.py::test_without_friction_and_noise_*",
        "unit/kernels/streams/test_streaming.py::test_full_friction_*",
        "unit/kernels/streams/test_streaming.py::test_more_gradient_noise_*",
    ),
    ("stochastic_gradient", "L14"): (
        "unit/models/test_user_model.py::test_constants_of_a_file_do_not_change_the_precision",
        "unit/kernels/streams/test_streaming.py::test_published_settings_come_near_*",
    ),
    ("stochastic_gradient", "L15"): (
        "unit/kernels/streams/test_stochastic_gradient_chain.py::test_chains_that_leave_the_finite_numbers_*",
        "unit/kernels/streams/test_stochastic_gradient_chain.py::test_a_length_of_zero_is_refused",
        "unit/kernels/streams/test_streaming.py::test_more_gradient_noise_*",
    ),
    # Approximate Bayesian computation
    ("abc", "L1"): (
        "unit/kernels/manifold/test_modified_abc.py::test_brackets_hold_*",
        "unit/kernels/manifold/test_modified_abc.py::test_the_start_gives_the_data",
        "unit/kernels/manifold/test_modified_abc.py::test_the_accept_probability_*",
        "unit/models/test_abc_kernels.py::test_kernel_with_its_stated_constant_*",
    ),
    ("abc", "L5"): (
        _ABC + "test_blocked_elliptical_slices_*",
        _ABC + "test_split_update_*",
        _INPUT_SPACE + "test_modified_abc_keeps_the_law_*",
    ),
    ("abc", "L9"): (
        "unit/models/generalised_lambda/test_generalised_lambda.py::test_likelihoods_agree_with_integrals_*",
        "unit/models/generalised_lambda/test_generalised_lambda.py::test_small_tolerances_lead_to_the_exact_likelihood",
    ),
    ("abc", "L11"): (_ABC + "test_split_update_*", _ABC + "test_blocked_elliptical_slices_*"),
    ("abc", "L15"): (
        "unit/kernels/manifold/test_modified_abc.py::test_values_that_are_not_numbers_*",
        "unit/kernels/manifold/test_modified_abc.py::test_a_proposal_outside_the_prior_*",
        "unit/kernels/manifold/test_modified_abc.py::test_wrong_arguments_are_refused",
        "unit/models/test_abc_kernels.py::test_values_that_are_not_finite_*",
        "unit/models/test_abc_kernels.py::test_unknown_kernel_*",
    ),
    # Approximations
    ("approximations", "L1"): (
        "unit/approximations/test_mean_field.py::test_objectives_are_lower_bounds_*",
        "unit/approximations/test_mean_field.py::test_converged_fits_*",
        "unit/approximations/test_renyi.py::test_the_bound_is_the_log_normaliser_*",
        "unit/approximations/test_advi.py::test_the_bound_of_the_exact_approximation_*",
    ),
    ("approximations", "L4"): (
        "unit/approximations/test_advi.py::test_both_gradients_*",
        "unit/approximations/test_mean_field.py::test_free_energy_has_the_gradient_*",
    ),
    ("approximations", "L9"): (
        "unit/approximations/test_laplace_latent_gaussian.py::test_gaussian_sites_*",
        "unit/approximations/test_laplace_evidence.py::test_the_evidence_of_a_linear_model_is_exact",
        "unit/approximations/test_mean_field.py::test_a_machine_without_weights_is_solved_exactly",
        "unit/approximations/test_renyi.py::test_a_gaussian_is_fitted_*",
    ),
    ("approximations", "L10"): ("unit/approximations/test_laplace_evidence.py::test_*_reference",),
    ("approximations", "L11"): (
        "unit/approximations/test_renyi.py::test_the_bound_is_the_log_normaliser_*",
        "unit/approximations/test_mean_field.py::test_objectives_are_lower_bounds_*",
    ),
    ("approximations", "L15"): (
        "unit/approximations/test_laplace_latent_gaussian.py::test_iteration_stops_at_the_limit_*",
        "unit/approximations/test_laplace_latent_gaussian.py::test_covariance_that_is_not_a_number_*",
        "unit/approximations/test_advi.py::test_steps_that_are_not_finite_*",
        "unit/approximations/test_laplace_evidence.py::test_*_refused",
    ),
    # Diagnostics
    ("diagnostics", "L1"): (
        "unit/diagnostics/test_convergence.py::test_results_do_not_depend_on_units",
        "unit/diagnostics/test_convergence.py::test_many_quantities_equal_each_alone",
        "unit/diagnostics/test_coda.py::test_*_does_not_depend_on_units",
        "unit/diagnostics/test_weighted.py::test_values_are_self_normalised_averages",
    ),
    ("diagnostics", "L12"): (
        "unit/diagnostics/test_convergence.py::test_bulk_size_and_errors_of_an_autoregression",
        "unit/diagnostics/test_convergence.py::test_stuck_chain_*",
        "unit/diagnostics/test_convergence.py::test_chains_in_two_modes_are_seen",
        "unit/diagnostics/test_convergence.py::test_heavy_tails_*",
        "unit/diagnostics/test_convergence.py::test_integer_chains_are_handled",
        "unit/diagnostics/test_coda.py::test_effective_sample_size_of_an_autoregression",
    ),
    ("diagnostics", "L15"): (
        "unit/diagnostics/test_checks.py::test_*",
        "unit/diagnostics/test_convergence.py::test_nan_is_refused_with_its_place",
        "unit/diagnostics/test_convergence.py::test_few_draws_are_refused",
        "unit/diagnostics/test_coda.py::test_nan_is_refused",
    ),
}
"""(component, layer) and the tests that test it."""
