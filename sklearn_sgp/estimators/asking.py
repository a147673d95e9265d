"""Fits that another fit asks for, side by side: none waits within another.

What needs fits is a generator. It yields a call, such as ``partial(engine.fit, problem)``, and goes
on with what that returns. Who wants the result of all has the calls made by `answered`.
"""


def answered(asking):
    """Make the calls that a generator yields, and return what it returns.

    What a call raises is raised where it was asked for.
    """
    try:
        call = next(asking)
        while True:
            try:
                answer = call()
            except BaseException as error:
                call = asking.throw(error)
            else:
                call = asking.send(answer)
    except StopIteration as end:
        return end.value
