"""Datatrove's MinHash deduplication, run by an interpreter that has datatrove: `python FILE INPUT OUT CORES`.

The four stages with the configuration that datatrove has by default: runs of five words, 14 bands of eight
values. This file imports nothing of Bookprint, which that interpreter need not have.
"""

import sys


def deduplicate(source: str, out: str, cores: int) -> None:
    """Write the texts to keep to OUT/kept, and which texts belong together to OUT/clusters."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.dedup import (
        MinhashDedupBuckets,
        MinhashDedupCluster,
        MinhashDedupFilter,
        MinhashDedupSignature,
    )
    from datatrove.pipeline.dedup.minhash import MinhashConfig
    from datatrove.pipeline.readers import ParquetReader
    from datatrove.pipeline.writers import ParquetWriter

    config = MinhashConfig()
    read = ParquetReader(source, text_key="text", id_key="id", batch_size=1000)
    for steps, tasks in (
        ([read, MinhashDedupSignature(f"{out}/signatures", config)], cores),
        ([MinhashDedupBuckets(f"{out}/signatures", f"{out}/buckets", config=config)], config.num_buckets),
        ([MinhashDedupCluster(f"{out}/buckets", f"{out}/clusters", config, save_cluster_id=True)], 1),
        ([read, MinhashDedupFilter(f"{out}/clusters"), ParquetWriter(f"{out}/kept")], cores),
    ):
        LocalPipelineExecutor(steps, tasks=tasks, workers=min(cores, tasks), skip_completed=False).run()


if __name__ == "__main__":
    deduplicate(sys.argv[1], sys.argv[2], int(sys.argv[3]))
