//! One binary; each `mod` line says what belongs in it.
