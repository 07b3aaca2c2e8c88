const RLIMIT_DATA = 2;

/** What this process has of memory that it can write to, in bytes. */
function dataBytes(): bigint {
  const kilobytes = /^VmData:\s+(\d+) kB/m.exec(Deno.readTextFileSync("/proc/self/status"))?.[1];
  if (kilobytes === undefined) throw new Error("the kernel does not say how much memory is in use");
  return BigInt(kilobytes) * 1024n;
}

/**
 * Limits the memory of this process to so many bytes more than it has now, for good: the kernel
 * refuses what goes beyond. Linux.
 */
export function limitMemory(bytes: number): void {
  const libc = Deno.dlopen("libc.so.6", {
    setrlimit: { parameters: ["i32", "buffer"], result: "i32" },
  });
  const most = dataBytes() + BigInt(bytes);
  const result = libc.symbols.setrlimit(RLIMIT_DATA, new BigUint64Array([most, most]));
  libc.close();
  if (result !== 0) throw new Error(`the kernel takes no limit of ${most} bytes of memory`);
}
