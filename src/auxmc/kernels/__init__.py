"""Markov kernels, particle methods and estimators of evidence, on functions and arrays.

A kernel is for one chain, and needs float64; `jax.vmap` gives many. Positions are vectors or other pytrees of arrays;
those of tempered kernels are vectors. The contracts of models that kernels take are here too.
"""

from auxmc.numerics.lazy import lazy_names

__all__, __getattr__, __dir__ = lazy_names(
    __name__,
    {
        "auxmc.kernels.base": "Kernel",
        "auxmc.kernels.hamiltonian.dual_averaging": "dual_averaging",
        "auxmc.kernels.hamiltonian.hmc": "hmc",
        "auxmc.kernels.hamiltonian.langevin": "mala unadjusted_langevin",
        "auxmc.kernels.hamiltonian.nuts": "nuts",
        "auxmc.kernels.hamiltonian.persistent_hmc": "persistent_hmc",
        "auxmc.kernels.hamiltonian.phased": "phased",
        "auxmc.kernels.hamiltonian.window_adaptation": "window_adaptation",
        "auxmc.kernels.manifold.constrained_hmc": "constrained_hmc",
        "auxmc.kernels.manifold.constrained_nuts": "constrained_nuts",
        "auxmc.kernels.manifold.modified_abc": "modified_abc",
        "auxmc.kernels.manifold.projection": "ProjectionSettings",
        "auxmc.kernels.metropolis.adaptation": "batch_adaptation",
        "auxmc.kernels.metropolis.coupling_from_the_past": "coupling_from_the_past",
        "auxmc.kernels.metropolis.gibbs": (
            "BlockUpdate gaussian_blocks gibbs permuted_scan random_scan spin_blocks systematic_scan"
        ),
        "auxmc.kernels.metropolis.involution": "involution_metropolis",
        "auxmc.kernels.metropolis.metropolis": "metropolis_independence random_walk_metropolis",
        "auxmc.kernels.metropolis.simulated_annealing": "simulated_annealing",
        "auxmc.kernels.pseudo_marginal.updates": (
            "auxiliary_pseudo_marginal elliptical_auxiliary independence_auxiliary metropolis_position "
            "pseudo_marginal_method pseudo_marginal_metropolis slice_position"
        ),
        "auxmc.kernels.slices.blocked_elliptical_slice": "blocked_elliptical_slice",
        "auxmc.kernels.slices.core": "Candidate shrink_bracket slice_kernel",
        "auxmc.kernels.slices.directed_slice": "along_axes along_gaussian along_unit_vectors directed_slice",
        "auxmc.kernels.slices.elliptical_slice": "elliptical_slice",
        "auxmc.kernels.slices.linear_slice": "linear_slice",
        "auxmc.kernels.slices.reflective_slice": "reflective_slice",
        "auxmc.kernels.streams.contract": "StreamSettings",
        "auxmc.kernels.streams.curvature_moves": "curvature_moves",
        "auxmc.kernels.streams.full_data_evidence": "AnnealedSettings full_data_evidence",
        "auxmc.kernels.streams.growing_data": "GrowingDataSettings growing_data_evidence",
        "auxmc.kernels.streams.nested_sampling": "NestedSettings nested_sampling",
        "auxmc.kernels.streams.nested_updating": "UpdatingSettings nested_updating",
        "auxmc.kernels.streams.particle_filter": (
            "ancestral_lines bootstrap_particle_filter sequential_importance_resampling"
        ),
        "auxmc.kernels.streams.published_estimators": "particle_evidence",
        "auxmc.kernels.streams.replicates": "replicated replicated_evidence",
        "auxmc.kernels.streams.running_laplace": "RunningLaplaceSettings running_laplace",
        "auxmc.kernels.streams.stochastic_gradient_chain": "stochastic_gradient_chain",
        "auxmc.kernels.streams.stochastic_gradient_moves": "stochastic_gradient_moves",
        "auxmc.kernels.streams.weighted_reservoir": "weighted_reservoirs",
        "auxmc.kernels.tempering.annealed_importance": "annealed_importance_sampling",
        "auxmc.kernels.tempering.continuous_tempering": "continuously_tempered_hmc gibbs_continuous_tempering",
        "auxmc.kernels.tempering.simulated_tempering": "simulated_tempering",
        "auxmc.kernels.tempering.tempered_nuts": "tempered_nuts",
        "auxmc.models.bridge": "Bridge bridge gaussian_base",
        "auxmc.models.conditioned": (
            "ConditionedModel condition_generator condition_noisy_generator noisy_input"
        ),
        "auxmc.models.estimator": "Estimator estimator_of",
        "auxmc.models.row_model": "RowModel",
    },
)
