def sample_features(*a): raise NotImplementedError
