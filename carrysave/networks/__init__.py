"""Networks on the co-processor: ONNX models to products, and their cost.

``model`` reads and checks, ``lower`` finds the products (``match_products``), ``product_base``
turns them into matrices: of codes (``quantised_product``), or of floats rounded to formats of the
engine (``encoded``; ``floats`` selects them). ``evaluate`` runs the model with the products done by
the golden model (``golden``) or the driver (``carrysave.driver.batch``), on a board or on the
simulated block. ``reference_runtime`` is onnxruntime, ``compare`` reports where and why its numbers
differ, and judges by ``exact_product`` where its kernels saturate; ``cost`` estimates cycles and
bytes.
"""
