"""The corpus mode: whole collections computed by an engine that speaks Spark Connect."""
