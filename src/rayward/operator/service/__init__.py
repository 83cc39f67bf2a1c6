"""RayService: Serve applications that keep answering while they and their clusters change."""
