/** Stands in for the library's decoders and writer, which a page of headers has no use for. */
function never(): never {
  throw new Error("the inspector reads headers only");
}

export {
  never as dequantize,
  never as pack,
  never as swapTensor,
  never as unpack,
  never as tensorsOf,
  never as tensorsOfSync,
  never as write,
  never as writePieces,
};
