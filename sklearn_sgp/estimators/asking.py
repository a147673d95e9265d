"""Fits that another fit asks for, side by side: none waits within another.

What needs fits is a generator. It yields a call, such as ``partial(engine.fit, problem)``, and goes
on with what that returns. Who wants the result of all has the calls made by `answered`.
"""


def answered(asking):
    """Make the calls that a generator yields, and return what it returns.

    What a call raises is raised where it was asked for, as if it were raised there alone, and so is
    Ctrl-C that comes between a call and the next one. Contexts that the generator is in are left by
    the time that this returns, whatever ends it.
    """
    answer = error = None
    try:
        while True:
            try:
                call = asking.send(answer) if error is None else asking.throw(error)
                answer = error = None
                answer = call()
            except BaseException as raised:
                if asking.gi_frame is None:  # it has ended
                    raise
                answer, error = None, raised
    except StopIteration as end:
        return end.value
    except RuntimeError as ended:
        if isinstance(error, StopIteration) and ended.__cause__ is error:  # of a call
            raise error from None
        raise
    finally:
        del error  # its traceback holds this frame
        asking.close()
