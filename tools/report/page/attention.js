// The page of attention.
