"""Versions of ONNX's operators that the host runs, as they were compared with onnxruntime.

``verif/networks/test_operator_versions.py`` goes through every operator in every version: by ONNX's
own cases in the words of that version, against onnxruntime or, where it has no such operator,
against the results that ONNX gives. What is not in these tables is refused.
"""

from onnx import NodeProto

from carrysave.compiler.graph.host_runtime import since
from carrysave.compiler.graph.kernels import attributes
from carrysave.errors import installed, remedy

__all__ = ["BY_EVALUATOR", "BY_RUNTIME", "refusal"]


def _table(text: str) -> dict[str, tuple[int, ...]]:
    """Read names of operators, each with the versions since which its meaning changed."""
    rows = (one.split() for one in text.split(";"))
    return {name: tuple(map(int, numbers)) for name, *numbers in rows}


BY_EVALUATOR = _table("""
Abs 6 13; Acos 7 22; Acosh 9 22; Add 7 13 14; AffineGrid 20; And 7; ArgMax 1 11 12 13;
ArgMin 1 11 12 13; Asin 7 22; Asinh 9 22; Atan 7 22; Atanh 9 22; Attention 25;
AveragePool 7 10 11 19 22; BatchNormalization 14 15; Bernoulli 15 22; BitCast 26; BitShift 11 28;
BitwiseAnd 18; BitwiseNot 18; BitwiseOr 18; BitwiseXor 18; BlackmanWindow 17;
Cast 6 9 13 19 21 23 24 25 28; CastLike 15 19 21 23 24 25; CausalConvWithState 27; Ceil 6 13;
Celu 12 28; CenterCropPad 18; Clip 6 11 12 13; Col2Im 18; Compress 9 11 28; Concat 4 11 13;
ConcatFromSequence 11; Constant 1 9 11 12 13 19 21 23 24 25; ConstantOfShape 9 20 21 23 24 25;
Conv 1 11 22; ConvInteger 10; ConvTranspose 1 11 22; Cos 7 22; Cosh 9 22; CumProd 26;
CumSum 11 14; DFT 17 20; DeformConv 19 22; DepthToSpace 1 11 13 28;
DequantizeLinear 10 13 19 21 23 24 25 28; Det 11 22; Div 7 13 14; Dropout 7 10 12 13 22;
DynamicQuantizeLinear 11; Einsum 12 28; Elu 6 22; Equal 7 11 13 19; Erf 9 13; Exp 6 13;
Expand 8 13; EyeLike 9 22; Flatten 1 9 11 13 21 23 24 25; Floor 6 13; GRU 7 14 22; Gather 1 11 13;
GatherND 11 12 13; Gelu 20; Gemm 7 9 11 13; GlobalAveragePool 1 22;
GlobalLpPool 2; GlobalMaxPool 1 22; Greater 7 9 13; GreaterOrEqual 12 16; GridSample 16 20 22;
GroupNormalization 21; HammingWindow 17; HannWindow 17; HardSigmoid 6 22; HardSwish 14 22;
Hardmax 13; Identity 1 13 14 16 19 21 23 24 25; ImageDecoder 20; InstanceNormalization 6 22;
IsInf 10 20; IsNaN 9 13 20; LRN 1 13; LSTM 7 14 22; LayerNormalization 17; LeakyRelu 6 16;
Less 7 9 13; LessOrEqual 12 16; LinearAttention 27; Log 6 13; LogSoftmax 13; LpNormalization 1 22;
LpPool 2 11 18 22; MatMul 1 9 13; MatMulInteger 10; Max 6 8 12 13; MaxPool 1 8 10 11 12 22;
MaxRoiPool 1; Mean 6 8 13; MeanVarianceNormalization 9 13; MelWeightMatrix 17; Min 6 8 12 13;
Mish 18 22; Mod 10 13 28; Mul 7 13 14; Multinomial 7; Neg 6 13;
NegativeLogLikelihoodLoss 12 13 22; NonMaxSuppression 10 11; NonZero 9 13; Not 1; OneHot 9 11 28;
OptionalGetElement 18 28; OptionalHasElement 18 28; Or 7; PRelu 7 9 16; Pow 7 12 13 15;
QLinearConv 10; QLinearMatMul 10 21; QuantizeLinear 10 13 19 21 23 24 25 28; RMSNormalization 23;
RNN 7 14 22; RandomNormal 1; RandomNormalLike 1; RandomUniform 1; RandomUniformLike 1;
Range 11 27; Reciprocal 6 13; ReduceL1 1 11 13 18; ReduceL2 1 11 13 18;
ReduceLogSum 1 11 13 18 28; ReduceLogSumExp 1 11 13 18 28; ReduceMax 1 11 12 13 18 20;
ReduceMean 1 11 13 18; ReduceMin 1 11 12 13 18 20; ReduceProd 1 11 13 18; ReduceSum 1 11 13;
ReduceSumSquare 1 11 13 18; RegexFullMatch 20; Relu 6 13 14; Reshape 5 13 14 19 21 23 24 25;
Resize 11; ReverseSequence 10 28; RoiAlign 16; RotaryEmbedding 23; Round 11 22; STFT 17;
Scatter 9; ScatterElements 11 13 16 18; ScatterND 11 13 16 18; Selu 6 22; SequenceAt 11;
SequenceConstruct 11; SequenceEmpty 11; SequenceErase 11; SequenceInsert 11; SequenceLength 11;
Shape 1 13 15 19 21 23 24 25; Shrink 9; Sigmoid 6 13; Sign 9 13; Sin 7 22; Sinh 9 22;
Size 1 13 19 21 23 24 25; Slice 1 10 11 13; Softmax 13; SoftmaxCrossEntropyLoss 12 13;
Softplus 1 22; Softsign 1 22; SpaceToDepth 1 13 28; Split 2 11 13 18; SplitToSequence 11 24;
Sqrt 6 13; Squeeze 1 11 13 21 23 24 25; StringConcat 20; StringNormalizer 10; StringSplit 20;
Sub 7 13 14; Sum 6 8 13; SwiGLU 28; Swish 24; Tan 7 22; Tanh 6 13; TensorScatter 24;
TfIdfVectorizer 9; ThresholdedRelu 10 22; Tile 6 13; TopK 1 10 11 24; Transpose 1 13 21 23 24 25;
Trilu 14; Unique 11 28; Unsqueeze 13 21 23 24 25; Upsample 9; Where 9 16; Xor 7
""")
"""Those whose results by ONNX's evaluator, with the operators of ``host_operators``, are right."""

BY_RUNTIME = _table("""
Attention 23 24; BatchNormalization 7 9; GatherElements 11 13; Hardmax 1 11; LogSoftmax 1 11;
MaxUnpool 9 11 22; Pad 2 11 13 18 19 21 23 24 25; Resize 10 13 18 19; RoiAlign 10;
Softmax 1 11; Unsqueeze 1 11; Upsample 7
""")
"""Those that ONNX's evaluator gets wrong, at least with some attributes: onnxruntime runs them."""


def _has_raw_scores(node: NodeProto) -> bool:
    """Return whether attention with a soft cap gives scores before it: the evaluator caps them."""
    if node.op_type != "Attention" or not any(node.output[3:]):
        return False
    values = attributes(node)
    return bool(values.get("softcap", 0)) and not values.get("qk_matmul_output_mode", 0)


def refusal(node: NodeProto, version: int) -> str:
    """Return why the host does not run an operator of ONNX; empty if it does.

    Parameters
    ----------
    node : of the model.
    version : of the model's operators.
    """
    name = node.op_type
    try:
        number = since(name, version)
    except ValueError as error:
        return str(error)
    if number in BY_EVALUATOR.get(name, ()):
        if _has_raw_scores(node) and not installed("onnxruntime"):
            return f"for scores before their soft cap the host needs {remedy('onnxruntime')}"
        return ""
    legal = BY_RUNTIME.get(name, ())
    if number in legal:
        return "" if installed("onnxruntime") else f"the host needs {remedy('onnxruntime')}"
    legal = tuple(sorted({*legal, *BY_EVALUATOR.get(name, ())}))
    if not legal:
        return "the host has no such operator"
    return f"its version must be one of {', '.join(map(str, legal))}, not {number}"
