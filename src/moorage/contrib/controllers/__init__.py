"""What keeps the status of PodGroups and ElasticQuotas up to date, beside the scheduling of pods."""
