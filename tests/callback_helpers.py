"""What callbacks of tests have in common."""


class Callback:
    """Does nothing before, between and after the steps of a fit."""

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass
