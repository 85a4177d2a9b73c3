"""All studies by name. No JAX, no pandas: the Snakefile imports this."""

from auxmc_pipeline.catalogue import Study
from experiments.boltzmann.study import STUDY as boltzmann
from experiments.estimator_illustrations.study import STUDY as estimator_illustrations
from experiments.foundations.study import STUDY as foundations
from experiments.gaussian_latent.study import STUDY as gaussian_latent
from experiments.generalised_lambda.study import STUDY as generalised_lambda
from experiments.gp_probit.study import STUDY as gp_probit
from experiments.human_pose.study import STUDY as human_pose
from experiments.image_models.study import STUDY as image_models
from experiments.lotka_volterra.study import STUDY as lotka_volterra
from experiments.manifold_illustrations.study import STUDY as manifold_illustrations
from experiments.radon.study import STUDY as radon
from experiments.streaming_evidence.study import STUDY as streaming_evidence
from experiments.tempering_illustration.study import STUDY as tempering_illustration

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        boltzmann,
        estimator_illustrations,
        foundations,
        gaussian_latent,
        generalised_lambda,
        gp_probit,
        human_pose,
        image_models,
        lotka_volterra,
        manifold_illustrations,
        radon,
        streaming_evidence,
        tempering_illustration,
    )
}
