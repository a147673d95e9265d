"""Fits that another fit asks for, side by side: none waits within another.

What needs fits is a generator. It yields a call, such as ``partial(engine.fit, problem)``, and goes
on with what that returns. Who wants the result of all has the calls made by `answered`.
"""


def answered(asking):
    """Make the calls that a generator yields, and return what it returns.

    What a call raises is raised where it was asked for, as if it were raised there alone. Contexts
    that the generator is in are left by the time that this returns, whatever ends it.
    """
    answer = error = None
    try:
        while True:
            call = asking.send(answer) if error is None else asking.throw(error)
            answer = error = None
            try:
                answer = call()
            except BaseException as raised:
                error = raised
    except StopIteration as end:
        return end.value
    finally:
        del error  # its traceback holds this frame
        asking.close()
