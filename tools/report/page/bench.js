// The page of bench.
