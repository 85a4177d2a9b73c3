"""Jacobians of constraints with structure: products, Gram solves and log-determinants at the cost that it allows.

Every form offers the operations of `Jacobian` on J [constraint, input]; the plain form does them by dense linear
algebra. All are pytrees of float64 arrays; nothing raises at run time, a singular matrix gives values that are not
finite.
"""

from typing import NamedTuple, Protocol, Self

import jax
import jax.numpy as jnp
from jax import Array
from jax.scipy.linalg import cho_solve, solve_triangular

from auxmc.numerics.linalg import sum_log_diagonal


class Jacobian(Protocol):
    """What a kernel may ask of the Jacobian of a constraint."""

    @property
    def half_log_determinant(self) -> Array:
        """Half the log-determinant of J J^T, a scalar, not finite where J has no full row rank."""

    def times(self, vector: Array) -> Array:
        """J v [constraint]."""

    def transposed_times(self, vector: Array) -> Array:
        """J^T b [input]."""

    def solve_gram(self, vector: Array) -> Array:
        """(J J^T)^-1 b [constraint]."""

    def solve_cross(self, previous: Self, vector: Array) -> Array:
        """(J J_p^T)^-1 b [constraint], with the Jacobian J_p of another point."""


class DenseJacobian(NamedTuple):
    """Jacobian without structure."""

    matrix: Array  # J [constraint, input]
    factor: Array  # lower Cholesky factor of J J^T [constraint, constraint]
    half_log_determinant: Array

    def times(self, vector: Array) -> Array:
        """J v [constraint]."""
        return self.matrix @ vector

    def transposed_times(self, vector: Array) -> Array:
        """J^T b [input]."""
        return self.matrix.T @ vector

    def solve_gram(self, vector: Array) -> Array:
        """(J J^T)^-1 b [constraint], at a cost of N^2."""
        return cho_solve((self.factor, True), vector)

    def solve_cross(self, previous: "DenseJacobian", vector: Array) -> Array:
        """(J J_p^T)^-1 b [constraint], at a cost of N^3."""
        return jnp.linalg.solve(self.matrix @ previous.matrix.T, vector)


class DiagonalJacobian(NamedTuple):
    """Jacobian [A | D] of independent observations: K shared inputs, then one of its own for each.

    With W = D^-1 A, the Gram matrix is D (I + W W^T) D, and (I + W W^T)^-1 = I - V V^T with V = W L^-T, L being the
    Cholesky factor of I + W^T W [shared, shared].
    """

    block: Array  # A [constraint, shared]
    diagonal: Array  # diagonal of D [constraint], of either sign
    whitened: Array  # W [constraint, shared]
    basis: Array  # V [constraint, shared]
    half_log_determinant: Array

    def times(self, vector: Array) -> Array:
        """J v [constraint]."""
        n_shared = self.block.shape[1]
        return self.block @ vector[:n_shared] + self.diagonal * vector[n_shared:]

    def transposed_times(self, vector: Array) -> Array:
        """J^T b [input]."""
        return jnp.concatenate([self.block.T @ vector, self.diagonal * vector])

    def solve_gram(self, vector: Array) -> Array:
        """(J J^T)^-1 b [constraint], at a cost of N K."""
        return _solve_low_rank(self.basis, vector / self.diagonal) / self.diagonal

    def solve_cross(self, previous: "DiagonalJacobian", vector: Array) -> Array:
        """(J J_p^T)^-1 b [constraint], at a cost of N K^2."""
        inner = _solve_cross_low_rank(self.whitened, previous.whitened, vector / self.diagonal)
        return inner / previous.diagonal


class MarkovianJacobian(NamedTuple):
    """Jacobian B [W | I] of a Markov process observed at every step: K shared inputs, then d of each step.

    B is lower block-triangular; its inverse has only the diagonal and the subdiagonal blocks, which are given.
    """

    whitened: Array  # W = B^-1 A [constraint, shared]
    inverse_diagonal: Array  # diagonal blocks of B^-1 [step, d, d]
    inverse_subdiagonal: Array  # blocks of B^-1 left of the diagonal [step - 1, d, d]
    diagonal: Array  # inverses of `inverse_diagonal` [step, d, d]
    basis: Array  # V [constraint, shared], as in `DiagonalJacobian`
    half_log_determinant: Array

    def times(self, vector: Array) -> Array:
        """J v [constraint], by one recursion forward in time."""
        n_shared = self.whitened.shape[1]
        return self._solve(self.whitened @ vector[:n_shared] + vector[n_shared:])

    def transposed_times(self, vector: Array) -> Array:
        """J^T b [input], by one recursion backward in time."""
        inner = self._solve(vector, transposed=True)
        return jnp.concatenate([self.whitened.T @ inner, inner])

    def solve_gram(self, vector: Array) -> Array:
        """(J J^T)^-1 b [constraint], at a cost of N (K + d), without a recursion."""
        inner = _solve_low_rank(self.basis, self._inverse_times(vector))
        return self._inverse_transposed_times(inner)

    def solve_cross(self, previous: "MarkovianJacobian", vector: Array) -> Array:
        """(J J_p^T)^-1 b [constraint], at a cost of N (K^2 + d)."""
        inner = _solve_cross_low_rank(self.whitened, previous.whitened, self._inverse_times(vector))
        return previous._inverse_transposed_times(inner)

    def _solve(self, vector: Array, transposed: bool = False) -> Array:
        """B v, or B^T v, from the blocks of the inverse."""
        blocks = vector.reshape(self.diagonal.shape[:2])

        def advance(last: Array, terms: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            diagonal, subdiagonal, right = terms
            if transposed:
                diagonal, subdiagonal = diagonal.T, subdiagonal.T
            new = diagonal @ (right - subdiagonal @ last)
            return new, new

        # The first step has no predecessor: any block times zero will do.
        parts = [jnp.zeros_like(self.diagonal[:1]), self.inverse_subdiagonal]
        terms = (self.diagonal, jnp.concatenate(parts[::-1] if transposed else parts), blocks)
        start = jnp.zeros_like(blocks[0])
        return jax.lax.scan(advance, start, terms, reverse=transposed, unroll=4)[1].reshape(-1)

    def _inverse_times(self, vector: Array) -> Array:
        blocks = vector.reshape(self.diagonal.shape[:2])
        own = jnp.einsum("tij,tj->ti", self.inverse_diagonal, blocks)
        before = jnp.einsum("tij,tj->ti", self.inverse_subdiagonal, blocks[:-1])
        return own.at[1:].add(before).reshape(-1)

    def _inverse_transposed_times(self, vector: Array) -> Array:
        blocks = vector.reshape(self.diagonal.shape[:2])
        own = jnp.einsum("tji,tj->ti", self.inverse_diagonal, blocks)
        after = jnp.einsum("tji,tj->ti", self.inverse_subdiagonal, blocks[1:])
        return own.at[:-1].add(after).reshape(-1)


class BlockJacobian(NamedTuple):
    """Jacobian [A | blockdiag(D_1, D_2, ...)]: K shared inputs, then k of each group of d outputs, k being at least d.

    With G = blockdiag(D_i D_i^T), the inverse of the Gram matrix is G^-1 - V V^T with V = G^-1 A L^-T, L being the
    Cholesky factor of I + A^T G^-1 A [shared, shared].
    """

    shared: Array  # A [constraint, shared]
    own: Array  # D [group, d, k]
    inverse: Array  # blocks of G^-1 [group, d, d]
    basis: Array  # V [constraint, shared]
    half_log_determinant: Array

    def times(self, vector: Array) -> Array:
        """J v [constraint]."""
        n_shared = self.shared.shape[1]
        return self.shared @ vector[:n_shared] + _block_times(self.own, vector[n_shared:])

    def transposed_times(self, vector: Array) -> Array:
        """J^T b [input]."""
        own = _block_times(jnp.swapaxes(self.own, 1, 2), vector)
        return jnp.concatenate([self.shared.T @ vector, own])

    def solve_gram(self, vector: Array) -> Array:
        """(J J^T)^-1 b [constraint], at a cost of N (K + d)."""
        return _block_times(self.inverse, vector) - self.basis @ (self.basis.T @ vector)

    def solve_cross(self, previous: "BlockJacobian", vector: Array) -> Array:
        """(J J_p^T)^-1 b [constraint], at a cost of N (K^2 + k d)."""
        inverse, _ = _inverse_blocks(self.own @ jnp.swapaxes(previous.own, 1, 2))
        solved = _block_times(inverse, vector)
        solved_shared = jax.vmap(lambda column: _block_times(inverse, column), 1, 1)(self.shared)
        small = jnp.eye(self.shared.shape[1]) + previous.shared.T @ solved_shared
        return solved - solved_shared @ jnp.linalg.solve(small, previous.shared.T @ solved)


class NoisyJacobian(NamedTuple):
    """Jacobian [J_x | eps I] of a generator with noise added to its outputs, which has full row rank everywhere."""

    matrix: Array  # J_x [constraint, input without noise]
    noise_scale: Array  # eps, positive scalar
    # Lower Cholesky factor of J_x J_x^T + eps^2 I, or of J_x^T J_x + eps^2 I where that is smaller.
    factor: Array
    half_log_determinant: Array

    def times(self, vector: Array) -> Array:
        """J v [constraint]."""
        n_inputs = self.matrix.shape[1]
        return self.matrix @ vector[:n_inputs] + self.noise_scale * vector[n_inputs:]

    def transposed_times(self, vector: Array) -> Array:
        """J^T b [input]."""
        return jnp.concatenate([self.matrix.T @ vector, self.noise_scale * vector])

    def solve_gram(self, vector: Array) -> Array:
        """(J J^T)^-1 b [constraint]."""
        if _inputs_outnumber(self.matrix):
            return cho_solve((self.factor, True), vector)
        inner = cho_solve((self.factor, True), self.matrix.T @ vector)
        return (vector - self.matrix @ inner) / jnp.square(self.noise_scale)

    def solve_cross(self, previous: "NoisyJacobian", vector: Array) -> Array:
        """(J J_p^T)^-1 b [constraint]; both must have the same noise scale."""
        variance = jnp.square(self.noise_scale)
        if _inputs_outnumber(self.matrix):
            return jnp.linalg.solve(self.matrix @ previous.matrix.T + variance * jnp.eye(len(vector)), vector)
        small = previous.matrix.T @ self.matrix + variance * jnp.eye(self.matrix.shape[1])
        inner = jnp.linalg.solve(small, previous.matrix.T @ vector)
        return (vector - self.matrix @ inner) / variance


def dense_jacobian(matrix: Array) -> DenseJacobian:
    """Jacobian without structure from its matrix [constraint, input]; costs N^2 M + N^3/3.

    More constraints than inputs, with which the Gram matrix is singular, are rejected (ValueError).
    """
    _check_matrix(matrix)
    if matrix.shape[0] > matrix.shape[1]:
        raise ValueError(
            f"a model needs at least as many inputs as constraints, got {matrix.shape[1]} inputs and "
            f"{matrix.shape[0]} constraints; add observation noise, or condition on fewer outputs"
        )
    factor = jnp.linalg.cholesky(matrix @ matrix.T)
    return DenseJacobian(matrix, factor, sum_log_diagonal(factor))


def diagonal_jacobian(block: Array, diagonal: Array) -> DiagonalJacobian:
    """Jacobian [A | D] from A [constraint, shared] and the diagonal of D [constraint]; costs N K^2."""
    _check_matrix(block)
    if diagonal.shape != block.shape[:1]:
        raise ValueError(f"diagonal must have shape {block.shape[:1]}, got {diagonal.shape}")
    whitened = block / diagonal[:, None]
    basis, half_log_determinant = _low_rank(whitened)
    half_log_determinant += jnp.sum(jnp.log(jnp.abs(diagonal)))
    return DiagonalJacobian(block, diagonal, whitened, basis, half_log_determinant)


def markovian_jacobian(
    whitened: Array, inverse_diagonal: Array, inverse_subdiagonal: Array
) -> MarkovianJacobian:
    """Jacobian B [W | I] from W = B^-1 A [constraint, shared] and the blocks of B^-1; costs N (K^2 + d^2).

    A is the derivative with respect to the shared inputs; the blocks are those on the diagonal [step, d, d] and left of
    it [step - 1, d, d], with step * d constraints.
    """
    _check_matrix(whitened)
    n_steps, d = inverse_diagonal.shape[:2]
    if inverse_diagonal.shape != (n_steps, d, d) or inverse_subdiagonal.shape != (n_steps - 1, d, d):
        raise ValueError(
            "blocks must have shapes [step, d, d] and [step - 1, d, d], got "
            f"{inverse_diagonal.shape} and {inverse_subdiagonal.shape}"
        )
    if whitened.shape[0] != n_steps * d:
        raise ValueError(f"whitened must have {n_steps * d} rows, got {whitened.shape[0]}")
    basis, half = _low_rank(whitened)
    diagonal, log_determinants = _inverse_blocks(inverse_diagonal)
    return MarkovianJacobian(
        whitened, inverse_diagonal, inverse_subdiagonal, diagonal, basis, half - jnp.sum(log_determinants)
    )


def block_jacobian(shared: Array, own: Array) -> BlockJacobian:
    """Jacobian [A | blockdiag(D)] from A [constraint, shared] and D [group, d, k], d <= k; costs N (K^2 + k d)."""
    _check_matrix(shared)
    if own.ndim != 3 or own.shape[1] > own.shape[2] or own.shape[0] * own.shape[1] != shared.shape[0]:
        raise ValueError(
            f"own must be [group, d, k] with d <= k and {shared.shape[0]} outputs, got {own.shape}"
        )
    inverse, log_determinants = _inverse_blocks(own @ jnp.swapaxes(own, 1, 2))
    solved = jax.vmap(lambda column: _block_times(inverse, column), 1, 1)(shared)
    factor = jnp.linalg.cholesky(jnp.eye(shared.shape[1]) + shared.T @ solved)
    basis = solve_triangular(factor, solved.T, lower=True).T
    half_log_determinant = sum_log_diagonal(factor) + 0.5 * jnp.sum(log_determinants)
    return BlockJacobian(shared, own, inverse, basis, half_log_determinant)


def noisy_jacobian(matrix: Array, noise_scale: Array | float) -> NoisyJacobian:
    """Jacobian [J_x | eps I] from J_x [constraint, input without noise] and eps > 0; costs the smaller side's cube."""
    _check_matrix(matrix)
    scale = jnp.asarray(noise_scale, matrix.dtype)
    n_constraints = matrix.shape[0]
    gram = matrix @ matrix.T if _inputs_outnumber(matrix) else matrix.T @ matrix
    factor = jnp.linalg.cholesky(gram + jnp.square(scale) * jnp.eye(gram.shape[0]))
    half_log_determinant = sum_log_diagonal(factor) + (n_constraints - gram.shape[0]) * jnp.log(scale)
    return NoisyJacobian(matrix, scale, factor, half_log_determinant)


def _inputs_outnumber(matrix: Array) -> bool:
    return bool(matrix.shape[1] >= matrix.shape[0])


def _block_times(blocks: Array, vector: Array) -> Array:
    """Product of a block-diagonal matrix [group, row, column] with a vector."""
    return jnp.einsum("gij,gj->gi", blocks, vector.reshape(blocks.shape[0], -1)).reshape(-1)


def _inverse_blocks(blocks: Array) -> tuple[Array, Array]:
    """Inverses of small matrices [step, d, d] and the logs of their determinants' sizes [step]."""
    if blocks.shape[1] != 2:
        _, log_determinants = jnp.linalg.slogdet(blocks)
        return jnp.linalg.inv(blocks), log_determinants
    # In closed form: a call of LAPACK for each step would cost more than everything else.
    a, b, c, d = blocks[:, 0, 0], blocks[:, 0, 1], blocks[:, 1, 0], blocks[:, 1, 1]
    determinants = a * d - b * c
    adjugates = jnp.stack([jnp.stack([d, -b], axis=-1), jnp.stack([-c, a], axis=-1)], axis=-2)
    return adjugates / determinants[:, None, None], jnp.log(jnp.abs(determinants))


def _low_rank(whitened: Array) -> tuple[Array, Array]:
    """V with (I + W W^T)^-1 = I - V V^T, and half the log-determinant of I + W W^T.

    With V no solve is left for the loops in which it is used, only two products.
    """
    factor = jnp.linalg.cholesky(jnp.eye(whitened.shape[1]) + whitened.T @ whitened)
    basis = solve_triangular(factor, whitened.T, lower=True).T
    return basis, sum_log_diagonal(factor)


def _solve_low_rank(basis: Array, vector: Array) -> Array:
    """(I + W W^T)^-1 b."""
    return vector - basis @ (basis.T @ vector)


def _solve_cross_low_rank(whitened: Array, previous: Array, vector: Array) -> Array:
    """(I + W W_p^T)^-1 b."""
    small = jnp.eye(whitened.shape[1]) + previous.T @ whitened
    return vector - whitened @ jnp.linalg.solve(small, previous.T @ vector)


def _check_matrix(matrix: Array) -> None:
    if matrix.ndim != 2:
        raise ValueError(f"expected a matrix [constraint, input], got shape {matrix.shape}")
