"""Jobs and CronJobs: their rules, their defaults and what may change of them."""
