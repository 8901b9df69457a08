// The page of projector.
