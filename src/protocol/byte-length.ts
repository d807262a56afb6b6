/** Bytes of the text in UTF-8, counted without encoding it: limits are checked for each event and each chunk. */
export function byteLength(text: string): number {
  let bytes = text.length;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    // A surrogate is half of four bytes; alone it becomes U+FFFD, which has three.
    if (code > 0x7f) bytes += code > 0x7ff && !isPairedSurrogate(text, i, code) ? 2 : 1;
  }
  return bytes;
}

function isPairedSurrogate(text: string, i: number, code: number): boolean {
  if (isHigh(code)) return isLow(text.charCodeAt(i + 1));
  return isLow(code) && isHigh(text.charCodeAt(i - 1));
}

function isHigh(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
}

function isLow(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
