"""tmp"""
import jax, jax.numpy as jnp
def standard_normal(key, shape): return jax.random.normal(key, shape)
def central_chi_square(key, degrees, shape):
    n=degrees//2; 
    out=0.0
    if n:
        u=1.0-jax.random.uniform(key,(*shape,n))
        g=16
        out=-2.0*sum(jnp.log(jnp.prod(u[...,i:i+g],axis=-1)) for i in range(0,n,g))
    if degrees%2: out=out+jnp.square(jax.random.normal(jax.random.fold_in(key,1),shape))
    return out
