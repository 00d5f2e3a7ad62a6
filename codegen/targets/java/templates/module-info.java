/** GGUF files: containers, tensors, quantized blocks. */
module ggufspec {
  exports ggufspec;
}
