"""Networks on the co-processor: ONNX models to products, and what they cost.

``model`` reads and checks, ``lower`` finds the products, ``operands`` makes matrices of them: of
codes (``product``), or of floats in formats of the engine (``encoded``; ``floats`` knows which).
``evaluate`` runs the model with the products done by whoever takes matrices: the golden model
(``golden``) or the driver (``work``), on a board or on the simulated block. ``oracle`` is
onnxruntime, ``compare`` says where and why its numbers differ, ``cost`` what a product takes.
"""
