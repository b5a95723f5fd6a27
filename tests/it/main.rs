//! One binary; each `mod` line says what belongs in it.

// Which module may name which.
mod architecture;
