// The page of embeddings.
