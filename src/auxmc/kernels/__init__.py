"""Markov kernels, particle methods and estimators of evidence, on functions and arrays.

A kernel is for one chain, and needs float64; `jax.vmap` gives many. Positions are vectors or other pytrees of arrays;
those of tempered kernels are vectors. The contracts of models that kernels take are here too.
"""

from auxmc.numerics.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    """
    kernels.base Kernel
    kernels.hamiltonian.dual_averaging dual_averaging
    kernels.hamiltonian.hmc hmc
    kernels.hamiltonian.langevin mala unadjusted_langevin
    kernels.hamiltonian.nuts nuts
    kernels.hamiltonian.persistent_hmc persistent_hmc
    kernels.hamiltonian.phased phased
    kernels.hamiltonian.riemannian_hmc dense_metric riemannian_hmc
    kernels.hamiltonian.window_adaptation window_adaptation
    kernels.manifold.constrained_hmc constrained_hmc
    kernels.manifold.constrained_nuts constrained_nuts
    kernels.manifold.modified_abc modified_abc
    kernels.manifold.projection ProjectionSettings
    kernels.metropolis.adaptation batch_adaptation
    kernels.metropolis.coupling_from_the_past coupling_from_the_past
    kernels.metropolis.gibbs BlockUpdate gaussian_blocks gibbs permuted_scan random_scan spin_blocks systematic_scan
    kernels.metropolis.involution involution_metropolis
    kernels.metropolis.metropolis metropolis_independence random_walk_metropolis
    kernels.metropolis.simulated_annealing simulated_annealing
    kernels.pseudo_marginal.joint_hmc pseudo_marginal_hmc
    kernels.pseudo_marginal.updates auxiliary_pseudo_marginal correlated_pseudo_marginal crank_nicolson_auxiliary
    kernels.pseudo_marginal.updates elliptical_auxiliary independence_auxiliary
    kernels.pseudo_marginal.updates metropolis_position pseudo_marginal_method pseudo_marginal_metropolis
    kernels.pseudo_marginal.updates random_walk_auxiliary slice_position
    kernels.slices.blocked_elliptical_slice blocked_elliptical_slice
    kernels.slices.core Candidate shrink_bracket slice_kernel
    kernels.slices.directed_slice along_axes along_gaussian along_unit_vectors directed_slice
    kernels.slices.elliptical_slice elliptical_slice
    kernels.slices.linear_slice linear_slice
    kernels.slices.reflective_slice reflective_slice
    kernels.streams.contract StreamSettings
    kernels.streams.curvature_moves curvature_moves
    kernels.streams.full_data_evidence AnnealedSettings full_data_evidence
    kernels.streams.growing_data GrowingDataSettings growing_data_evidence
    kernels.streams.nested_sampling NestedSettings nested_sampling
    kernels.streams.nested_updating UpdatingSettings nested_updating
    kernels.streams.particle_filter ancestral_lines backward_draws bootstrap_particle_filter
    kernels.streams.particle_filter sequential_importance_resampling
    kernels.streams.published_estimators particle_evidence
    kernels.streams.replicates replicated replicated_evidence
    kernels.streams.running_laplace RunningLaplaceSettings running_laplace
    kernels.streams.stochastic_gradient_chain stochastic_gradient_chain
    kernels.streams.stochastic_gradient_moves stochastic_gradient_moves
    kernels.streams.weighted_reservoir weighted_reservoirs
    kernels.tempering.annealed_importance annealed_importance_sampling
    kernels.tempering.continuous_tempering continuously_tempered_hmc gibbs_continuous_tempering
    kernels.tempering.continuous_tempering plateau_tempered_hmc
    kernels.tempering.simulated_tempering simulated_tempering
    kernels.tempering.tempered_nuts tempered_nuts
    models.bridge Bridge bridge gaussian_base
    models.conditioned ConditionedModel condition_generator condition_noisy_generator noisy_input
    models.estimator Estimator estimator_of
    models.row_model RowModel
    """,
)
