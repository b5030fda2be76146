"""Datatrove's MinHash deduplication, run by an interpreter that has datatrove.

`python FILE INPUT OUT CORES BANDS VALUES` runs its four stages as its documentation has them. Shingles are
runs of five words; without the last two arguments 14 bands have eight values each. Nothing of Bookprint is
imported, which that interpreter need not have.
"""

import sys


def deduplicate(source: str, out: str, cores: int, bands: int = 14, values: int = 8) -> None:
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

    config = MinhashConfig(num_buckets=bands, hashes_per_bucket=values)
    read = ParquetReader(source, text_key="text", id_key="id", batch_size=1000)
    stages = {
        "signatures": ([read, MinhashDedupSignature(f"{out}/signatures", config)], cores),
        "buckets": ([MinhashDedupBuckets(f"{out}/signatures", f"{out}/buckets", config=config)], bands),
        "clusters": (
            [MinhashDedupCluster(f"{out}/buckets", f"{out}/clusters", config, save_cluster_id=True)],
            1,
        ),
        "kept": ([read, MinhashDedupFilter(f"{out}/clusters"), ParquetWriter(f"{out}/kept")], cores),
    }
    for stage, (steps, tasks) in stages.items():
        # Its logs would lie in the working directory.
        logs = f"{out}/logs/{stage}"
        LocalPipelineExecutor(steps, tasks=tasks, workers=min(cores, tasks), logging_dir=logs).run()


if __name__ == "__main__":
    deduplicate(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
