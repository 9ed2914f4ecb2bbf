//! Tests of the processor as a whole.
