"""Models whose factors belong to blocks of rows: SoR to PIC, LMA and VIF.

Imports the modules beside it and what is below; ``selection`` and ``estimators`` import it.
"""
