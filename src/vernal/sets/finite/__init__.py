"""States of finite systems as rows of integers, and exact values of expressions at thousands of them."""
