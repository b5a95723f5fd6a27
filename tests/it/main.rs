//! One binary; each `mod` line says what belongs in it.

mod corpus; // real tool lists and labelled pairs, read where they are present
mod rules; // every case of every rule through the whole engine
