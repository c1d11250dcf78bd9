"""Solutions of differential equations, enclosed: a-priori boxes, Taylor coefficients, validated steps, in batches."""
