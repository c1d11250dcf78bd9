"""The competition's neural controllers in the loop (ARCH-COMP, category AINNCS), from files of a page each."""
